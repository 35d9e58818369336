# SPDX-License-Identifier: Apache-2.0
"""Architectures of the package timm (1.0.9), at 96 pixels where they take any size."""
import timm
import torch
from timm.layers import set_exportable

# Fast ones of few parameters, which are also verified.
SMALL = """convnext_atto efficientnet_lite0 mobilenetv4_conv_small tf_efficientnet_b0 ghostnet_100 mobileone_s0 edgenext_xx_small
efficientvit_b0 efficientvit_m0 lcnet_050 mixnet_s mnasnet_050 rexnet_100 semnasnet_075 tinynet_a regnety_004 repvit_m1 fastvit_t8
hardcorenas_a levit_128s spnasnet_100 mobilevit_xs xcit_nano_12_p16_224 swin_tiny_patch4_window7_224 deit_tiny_patch16_224""".split()
OTHERS = """convnextv2_atto mobilenetv4_hybrid_medium tf_efficientnetv2_b0 ghostnetv2_100 mobilevitv2_050 dla34 dpn68 ecaresnet26t
hrnet_w18_small res2net50_26w_4s resnest14d resnetaa50 resnetblur50 resnetv2_50 seresnet50 skresnet18 efficientformer_l1
efficientformerv2_s0 regnetz_b16 repvgg_a2 inception_next_tiny inception_v4 xception41 nasnetalarge nfnet_l0 pnasnet5large
cspdarknet53 cspresnet50 darknet53 eca_nfnet_l0 ese_vovnet19b_dw selecsls42 vovnet39a bat_resnext26ts botnet26t_256
coat_lite_tiny coatnet_nano_rw_224 densenet121 gcresnet33ts gernet_s lambda_resnet26t crossvit_9_240
maxvit_rmlp_nano_rw_256 poolformer_s12 caformer_s18 convformer_s18 pvt_v2_b0 twins_svt_small swinv2_tiny_window8_256
vit_tiny_patch16_224 nest_tiny vit_base_r50_s16_224 focalnet_tiny_srf mvitv2_tiny davit_tiny gcvit_xxtiny hgnet_tiny hgnetv2_b0
tiny_vit_5m_224 visformer_tiny eva02_tiny_patch14_224 beit_base_patch16_224 mixer_s16_224 resmlp_12_224 sequencer2d_s hiera_tiny_224
rdnet_tiny""".split()
# Parts of names of architectures that take pictures of one size alone.
FIXED = """vit swin coat cvt twins nest levit mixer mlp former beit eva hiera volo xcit davit gcvit focal halo bot lambda bat_
sequencer""".split()


def make(name):
    """The architecture with random weights, and its arguments."""
    set_exportable(True)
    model = timm.create_model(name, pretrained=False, **({} if "vit" in name else {"exportable": True}))
    size = model.default_cfg.get("input_size", (3, 224, 224))
    if not model.default_cfg.get("fixed_input_size") and not any(part in name for part in FIXED):
        size = (3, 96, 96)
    return model, (torch.randn(1, *size),)
